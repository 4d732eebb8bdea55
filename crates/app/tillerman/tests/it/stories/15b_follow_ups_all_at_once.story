# 15: the same with all follow-ups at once
lane all
prompt say "on it" pause 1000 say "done"
follow-up say "first"
follow-up say "second"
steer say "turned"
wait 3000
| opened mock/alpha prompt
| turn
| user Prompt "say \"on it\" pause 1000 say \"done\""
| queued FollowUp "say \"first\""
| queued FollowUp "say \"second\""
| queued Steer "say \"turned\""
| assistant "on itdone" Stop
| settled Consumed
| user Steer "say \"turned\""
| assistant "turned" Stop
| settled Consumed
| user FollowUp "say \"first\""
| settled Consumed
| user FollowUp "say \"second\""
| assistant "second" Stop
| end EndTurn rounds 0 tokens 228/7
~ mock/alpha U "say \"on it\" pause 1000 say \"done\""
~ mock/alpha UAU "say \"turned\""
~ mock/alpha UAUAUU "say \"second\""
