# 6: an unknown tool, arguments that miss a field, arguments that are no JSON: no question, nothing runs
prompt call frobnicate {"x":1} and call write_file {"path":"x.txt"} and call read_file badjson {"path": then say "I see."
prompt call glob_search {"pattern":"*"} then say "Nothing there."
allow
| opened mock/alpha prompt
| turn
| user Prompt "call frobnicate {\"x\":1} and call write_file {\"path\":\"x.txt\"} and call read_file badjson {\"path\": then say \"I see.\""
| assistant frobnicate{"x":1} write_file{"path":"x.txt"} read_file broken "{\"path\":" ToolUse
| call frobnicate
| result frobnicate Unknown error "unknown tool: frobnicate"
| call write_file
| result write_file Invalid error "invalid tool arguments: missing required argument \"content\""
| call read_file
| result read_file Invalid error "invalid tool arguments: expected a value, found the end at byte 8"
| assistant "I see." Stop
| end EndTurn rounds 1 tokens 232/17
| turn
| user Prompt "call glob_search {\"pattern\":\"*\"} then say \"Nothing there.\""
| assistant glob_search{"pattern":"*"} ToolUse
| call glob
| ask glob needs read-only
| answer allow Once
| result glob Ran "no files match *\n"
| assistant "Nothing there." Stop
| end EndTurn rounds 1 tokens 327/11
~ mock/alpha U "call frobnicate {\"x\":1} and call write_file {\"path\":\"x.txt\"} and call read_file badjson {\"path\": then say \"I see.\""
~ mock/alpha UARRR "invalid tool arguments: expected a value, found the end at byte 8"
~ mock/alpha UARRRAU "call glob_search {\"pattern\":\"*\"} then say \"Nothing there.\""
~ mock/alpha UARRRAUAR "no files match *\n"
