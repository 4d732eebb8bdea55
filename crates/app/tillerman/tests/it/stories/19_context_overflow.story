# 19: the provider says that the context is full: compaction, then the same prompt goes on
window 500
prompt delta "a text of about one hundred characters, which is all that this reply has to say about anything at all"
prompt delta "a text of about one hundred characters, which is all that this reply has to say about anything at all"
prompt delta "a text of about one hundred characters, which is all that this reply has to say about anything at all"
prompt fail overflow 1 say "short now"
wait 1000
| opened mock/alpha prompt
| turn
| user Prompt "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
| assistant "a text of about one hundred characters, which is all that this reply has to say about anything at all" Stop
| end EndTurn rounds 0 tokens 89/26
| turn
| user Prompt "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
| assistant "a text of about one hundred characters, which is all that this reply has to say about anything at all" Stop
| end EndTurn rounds 0 tokens 142/26
| turn
| user Prompt "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
| assistant "a text of about one hundred characters, which is all that this reply has to say about anything at all" Stop
| end EndTurn rounds 0 tokens 194/26
| turn
| user Prompt "fail overflow 1 say \"short now\""
| compacted Overflow 7 -> 4 messages
| assistant "short now" Stop
| end EndTurn rounds 0 tokens 190/3
~ mock/alpha U "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
~ mock/alpha UAU "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
~ mock/alpha UAUAU "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
~ mock/alpha UAUAUAU "fail overflow 1 say \"short now\""
~ mock/alpha UAUAU "Summarise this conversation so that work can go on without the earlier messages. Keep: what the user wants, decisions and their reasons, files read and changed, commands and their outcomes, what is open. Be brief and concrete."
~ mock/alpha UUAU "fail overflow 1 say \"short now\""
