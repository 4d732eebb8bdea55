# 41: a budget is spent; an allow gives as much again, a deny ends the turn, and the next prompt has its own
budget turn.rounds=1
prompt call glob_search {"pattern":"*"} then call glob_search {"pattern":"*"} then call glob_search {"pattern":"*"} then say never
allow
allow
allow
deny
prompt say "still here"
| opened mock/alpha prompt
| turn
| user Prompt "call glob_search {\"pattern\":\"*\"} then call glob_search {\"pattern\":\"*\"} then call glob_search {\"pattern\":\"*\"} then say never"
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| ask budget turn.rounds: 1 tool round
| answer allow Once
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| ask budget turn.rounds: 2 tool rounds
| answer deny
| end Budget Budget rounds 2 tokens 196/14
| turn
| user Prompt "say \"still here\""
| assistant "still here" Stop
| end EndTurn rounds 0 tokens 118/3
~ mock/alpha U "call glob_search {\"pattern\":\"*\"} then call glob_search {\"pattern\":\"*\"} then call glob_search {\"pattern\":\"*\"} then say never"
~ mock/alpha UAR "no files match *\n"
~ mock/alpha UARARU "say \"still here\""
