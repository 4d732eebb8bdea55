# 39: a command of the user's own: in the log with its end, and read by the model with the next prompt, unless it is aside
file notes.txt remember me\n
shell cat notes.txt; echo trouble >&2; exit 3
shell-aside echo private
prompt say hello
shell true
prompt say "and now"
| opened mock/alpha prompt
| shell "cat notes.txt; echo trouble >&2; exit 3" starts
| shell "cat notes.txt; echo trouble >&2; exit 3" Some(3) "remember me\ntrouble\n"
| shell "echo private" starts
| shell "echo private" Some(0) "private\n"
| turn
| user Prompt "say hello"
| assistant "hello" Stop
| end EndTurn rounds 0 tokens 95/2
| shell "true" starts
| shell "true" Some(0) ""
| turn
| user Prompt "say \"and now\""
| assistant "and now" Stop
| end EndTurn rounds 0 tokens 112/2
~ mock/alpha UU "say hello"
~ mock/alpha UUAUU "say \"and now\""
