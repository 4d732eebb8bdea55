# 7: a write outside the workspace by `..`, by a link, by an absolute path needs the highest mode
mode workspace-write
link out /tmp
prompt call write_file {"path":"../evil-story.txt","content":"1"} and call write_file {"path":"out/evil-story.txt","content":"2"} and call write_file {"path":"/tmp/evil-story.txt","content":"3"} then say "No."
deny stay
deny stay
deny stay
| opened mock/alpha workspace-write
| turn
| user Prompt "call write_file {\"path\":\"../evil-story.txt\",\"content\":\"1\"} and call write_file {\"path\":\"out/evil-story.txt\",\"content\":\"2\"} and call write_file {\"path\":\"/tmp/evil-story.txt\",\"content\":\"3\"} then say \"No.\""
| assistant write_file{"path":"../evil-story.txt","content":"1"} write_file{"path":"out/evil-story.txt","content":"2"} write_file{"path":"/tmp/evil-story.txt","content":"3"} ToolUse
| call write_file
| ask write_file needs danger-full-access
| answer deny
| result write_file Denied error "stay"
| call write_file
| ask write_file needs danger-full-access
| answer deny
| result write_file Denied error "stay"
| call write_file
| ask write_file needs danger-full-access
| answer deny
| result write_file Denied error "stay"
| assistant "No." Stop
| end EndTurn rounds 1 tokens 267/41
~ mock/alpha U "call write_file {\"path\":\"../evil-story.txt\",\"content\":\"1\"} and call write_file {\"path\":\"out/evil-story.txt\",\"content\":\"2\"} and call write_file {\"path\":\"/tmp/evil-story.txt\",\"content\":\"3\"} then say \"No.\""
~ mock/alpha UARRR "stay"
