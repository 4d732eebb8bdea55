# 36: out of tokens; with a call half written, it is not run
prompt say "and so" length
prompt call write_file {"path":"x","content":"1"} length
prompt say "still here"
| opened mock/alpha prompt
| turn
| user Prompt "say \"and so\" length"
| assistant "and so" Length
| end MaxTokens rounds 0 tokens 67/2
| turn
| user Prompt "call write_file {\"path\":\"x\",\"content\":\"1\"} length"
| assistant write_file{"path":"x","content":"1"} Length
| call write_file
| result write_file Invalid error "not run: the reply was cut off before the call was complete"
| end MaxTokens rounds 1 tokens 80/9
| turn
| user Prompt "say \"still here\""
| assistant "still here" Stop
| end EndTurn rounds 0 tokens 108/3
~ mock/alpha U "say \"and so\" length"
~ mock/alpha UAU "call write_file {\"path\":\"x\",\"content\":\"1\"} length"
~ mock/alpha UAUARU "say \"still here\""
