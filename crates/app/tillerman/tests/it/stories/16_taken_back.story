# 16: a waiting message is taken back and never runs; what happens to the other one is told
prompt say "on it" hold
follow-up say "first"
follow-up say "second"
take-back
interrupt
wait 1000
| opened mock/alpha prompt
| turn
| user Prompt "say \"on it\" hold"
| queued FollowUp "say \"first\""
| queued FollowUp "say \"second\""
| settled Cancelled
| assistant "on it" Interrupted
| cut Asked
| end Interrupted rounds 0 tokens estimated
~ mock/alpha U "say \"on it\" hold"
