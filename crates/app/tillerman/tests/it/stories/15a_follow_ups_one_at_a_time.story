# 15: two follow-ups and a steer that came later: the steer first, then one follow-up after the other
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
| assistant "first" Stop
| settled Consumed
| user FollowUp "say \"second\""
| assistant "second" Stop
| end EndTurn rounds 0 tokens 309/9
~ mock/alpha U "say \"on it\" pause 1000 say \"done\""
~ mock/alpha UAU "say \"turned\""
~ mock/alpha UAUAU "say \"first\""
~ mock/alpha UAUAUAU "say \"second\""
