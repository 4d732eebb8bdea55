# 8: interrupt while text streams: what came is kept and marked; the next prompt works
prompt stall 2 say 5 words
interrupt
prompt say again
| opened mock/alpha prompt
| turn
| user Prompt "stall 2 say 5 words"
| assistant "w1 w2 " Interrupted
| cut Asked
| end Interrupted rounds 0 tokens estimated
| turn
| user Prompt "say again"
| assistant "again" Stop
| end EndTurn rounds 0 tokens 70/2
~ mock/alpha U "stall 2 say 5 words"
~ mock/alpha UAU "say again"
