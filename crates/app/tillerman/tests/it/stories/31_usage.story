# 31: usage over a retry, a tool round and a failed turn
model fail 503 usage 1000 1000
model id a call glob_search {"pattern":"*"} usage 100 10
model say "found" usage 120 7
model say "half" usage 50 5 cut
prompt look
wait 2000
allow
prompt again
slash cost
| opened mock/alpha prompt
| turn
| user Prompt "look"
| retry 1 of 3 after 500 ms: Provider
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| assistant "found" Stop
| end EndTurn rounds 1 tokens 220/17
| turn
| user Prompt "again"
| assistant "half" Failed StreamCut
| end Error StreamCut rounds 0 tokens 50/5
~ mock/alpha U "look"
~ mock/alpha U "look"
~ mock/alpha UAR "no files match *\n"
~ mock/alpha UARAU "again"
