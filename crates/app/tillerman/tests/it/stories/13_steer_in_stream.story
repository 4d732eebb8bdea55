# 13: steering while text streams: the reply is not cut; the message is the next of the same turn
prompt say "on it" pause 1000 say "still on it"
steer say "turned"
wait 3000
| opened mock/alpha prompt
| turn
| user Prompt "say \"on it\" pause 1000 say \"still on it\""
| queued Steer "say \"turned\""
| assistant "on itstill on it" Stop
| settled Consumed
| user Steer "say \"turned\""
| assistant "turned" Stop
| end EndTurn rounds 0 tokens 151/6
~ mock/alpha U "say \"on it\" pause 1000 say \"still on it\""
~ mock/alpha UAU "say \"turned\""
