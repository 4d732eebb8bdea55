# 20: too small to compact: said clearly, and nothing changes
prompt say hello
slash compact
prompt say "after it"
| opened mock/alpha prompt
| turn
| user Prompt "say hello"
| assistant "hello" Stop
| end EndTurn rounds 0 tokens 64/2
| turn
| user Prompt "say \"after it\""
| assistant "after it" Stop
| end EndTurn rounds 0 tokens 69/2
~ mock/alpha U "say hello"
~ mock/alpha UAU "say \"after it\""
