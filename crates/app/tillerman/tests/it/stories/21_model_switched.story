# 21: another model in mid-conversation is in the log and used by the next call; an unknown one is refused
prompt say one
slash model mock/beta
slash model mock/gamma
! unknown_model
prompt say two
| opened mock/alpha prompt
| turn
| user Prompt "say one"
| assistant "one" Stop
| end EndTurn rounds 0 tokens 64/1
| model mock/beta
| turn
| user Prompt "say two"
| assistant "two" Stop
| end EndTurn rounds 0 tokens 66/1
~ mock/alpha U "say one"
~ mock/beta UAU "say two"
