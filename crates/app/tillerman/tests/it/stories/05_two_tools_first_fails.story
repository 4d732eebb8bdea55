# 5: two calls in one reply; the first fails, both have results in order
file b.txt here\n
prompt call read_file {"path":"missing.txt"} and call read_file {"path":"b.txt"} then say "One of two."
allow
allow
| opened mock/alpha prompt
| turn
| user Prompt "call read_file {\"path\":\"missing.txt\"} and call read_file {\"path\":\"b.txt\"} then say \"One of two.\""
| assistant read_file{"path":"missing.txt"} read_file{"path":"b.txt"} ToolUse
| call read_file
| ask read_file needs read-only
| answer allow Once
| result read_file Ran error "missing.txt: no such file or directory"
| call read_file
| ask read_file needs read-only
| answer allow Once
| result read_file Ran "here\n"
| assistant "One of two." Stop
| end EndTurn rounds 1 tokens 197/17
~ mock/alpha U "call read_file {\"path\":\"missing.txt\"} and call read_file {\"path\":\"b.txt\"} then say \"One of two.\""
~ mock/alpha UARR "here\n"
