# 20: a short conversation is compacted whole when somebody asks
prompt say hello
slash compact
prompt say "after it"
| opened mock/alpha prompt
| turn
| user Prompt "say hello"
| assistant "hello" Stop
| end EndTurn rounds 0 tokens 64/2
| compacted Manual 2 -> 1 messages
| turn
| user Prompt "say \"after it\""
| assistant "after it" Stop
| end EndTurn rounds 0 tokens 95/2
~ mock/alpha U "say hello"
~ mock/alpha UAU "Summarise this conversation so that work can go on without the earlier messages. Keep: what the user wants, decisions and their reasons, files read and changed, commands and their outcomes, what is open. Be brief and concrete."
~ mock/alpha UU "say \"after it\""
