# 20: compaction by hand leaves a summary and the end of the conversation
window 500
prompt delta "a text of about one hundred characters, which is all that this reply has to say about anything at all"
prompt delta "a text of about one hundred characters, which is all that this reply has to say about anything at all"
prompt delta "a text of about one hundred characters, which is all that this reply has to say about anything at all"
slash compact
prompt say "after it"
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
| compacted Manual 6 -> 3 messages
| turn
| user Prompt "say \"after it\""
| assistant "after it" Stop
| end EndTurn rounds 0 tokens 185/2
~ mock/alpha U "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
~ mock/alpha UAU "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
~ mock/alpha UAUAU "delta \"a text of about one hundred characters, which is all that this reply has to say about anything at all\""
~ mock/alpha UAUAU "Summarise this conversation so that work can go on without the earlier messages. Keep: what the user wants, decisions and their reasons, files read and changed, commands and their outcomes, what is open. Be brief and concrete."
~ mock/alpha UUAU "say \"after it\""
