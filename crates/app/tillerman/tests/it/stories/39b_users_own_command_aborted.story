# 39: an abort ends a command; that it was stopped is what the model reads
shell-start sleep 600
abort-shell
abort-shell
prompt say hello
| opened mock/alpha prompt
| shell "sleep 600" starts
| shell "sleep 600" None ""
| turn
| user Prompt "say hello"
| assistant "hello" Stop
| end EndTurn rounds 0 tokens 86/2
~ mock/alpha UU "say hello"
