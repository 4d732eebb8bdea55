# 11: interrupt when nothing runs, twice
interrupt
interrupt
prompt say 1 word
interrupt
interrupt
| opened mock/alpha prompt
| turn
| user Prompt "say 1 word"
| assistant "w1" Stop
| end EndTurn rounds 0 tokens 64/1
~ mock/alpha U "say 1 word"
