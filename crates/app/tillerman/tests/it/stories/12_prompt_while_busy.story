# 12: a prompt while busy is refused; the running turn goes on, nothing is queued
prompt say one pause 1000 say two
prompt say never
! turn_in_progress
wait 2000
| opened mock/alpha prompt
| turn
| user Prompt "say one pause 1000 say two"
| assistant "onetwo" Stop
| end EndTurn rounds 0 tokens 68/2
~ mock/alpha U "say one pause 1000 say two"
