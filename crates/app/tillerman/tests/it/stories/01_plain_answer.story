# 1: a plain answer
prompt say 3 words
| opened mock/alpha prompt
| turn
| user Prompt "say 3 words"
| assistant "w1 w2 w3" Stop
| end EndTurn rounds 0 tokens 65/2
~ mock/alpha U "say 3 words"
