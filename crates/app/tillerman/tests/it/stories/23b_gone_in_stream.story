# 23: the controller goes away while text streams: the turn finishes unseen
prompt say one pause 1000 say two
leave
wait 2000
| opened mock/alpha prompt
| turn
| user Prompt "say one pause 1000 say two"
| assistant "onetwo" Stop
| end EndTurn rounds 0 tokens 68/2
~ mock/alpha U "say one pause 1000 say two"
