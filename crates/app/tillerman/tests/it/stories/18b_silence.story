# 18: silence for too long gives the turn up
prompt say "and then" hold
wait 700000
prompt say again
| opened mock/alpha prompt
| turn
| user Prompt "say \"and then\" hold"
| assistant "and then" Interrupted
| cut Stalled
| end Error Network rounds 0 tokens estimated
| turn
| user Prompt "say again"
| assistant "again" Stop
| end EndTurn rounds 0 tokens 71/2
~ mock/alpha U "say \"and then\" hold"
~ mock/alpha UAU "say again"
