# 16: everything that waits is taken back at once; the running turn goes on
prompt say "on it" pause 1000 say "done"
follow-up say "first"
steer say "turned"
follow-up say "second"
clear-queue
clear-queue
wait 3000
prompt say "next"
| opened mock/alpha prompt
| turn
| user Prompt "say \"on it\" pause 1000 say \"done\""
| queued FollowUp "say \"first\""
| queued Steer "say \"turned\""
| queued FollowUp "say \"second\""
| settled Cancelled
| settled Cancelled
| settled Cancelled
| assistant "on itdone" Stop
| end EndTurn rounds 0 tokens 70/3
| turn
| user Prompt "say \"next\""
| assistant "next" Stop
| end EndTurn rounds 0 tokens 75/1
~ mock/alpha U "say \"on it\" pause 1000 say \"done\""
~ mock/alpha UAU "say \"next\""
