# 36: too many rounds
rounds 1
prompt call glob_search {"pattern":"*"} then call glob_search {"pattern":"*"} then say never
allow
prompt say "still here"
| opened mock/alpha prompt
| turn
| user Prompt "call glob_search {\"pattern\":\"*\"} then call glob_search {\"pattern\":\"*\"} then say never"
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| end MaxIterations rounds 1 tokens 83/7
| turn
| user Prompt "say \"still here\""
| assistant "still here" Stop
| end EndTurn rounds 0 tokens 98/3
~ mock/alpha U "call glob_search {\"pattern\":\"*\"} then call glob_search {\"pattern\":\"*\"} then say never"
~ mock/alpha UARU "say \"still here\""
