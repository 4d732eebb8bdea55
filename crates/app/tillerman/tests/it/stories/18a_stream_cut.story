# 18: the stream ends in the middle of a word: typed, the text is kept, nothing is silently tried again
prompt say "half a wo" cut
prompt say "whole" fail 500
prompt say again
| opened mock/alpha prompt
| turn
| user Prompt "say \"half a wo\" cut"
| assistant "half a wo" Failed StreamCut
| end Error StreamCut rounds 0 tokens estimated
| turn
| user Prompt "say \"whole\" fail 500"
| assistant "whole" Failed Provider
| end Error Provider rounds 0 tokens estimated
| turn
| user Prompt "say again"
| assistant "again" Stop
| end EndTurn rounds 0 tokens 77/2
~ mock/alpha U "say \"half a wo\" cut"
~ mock/alpha UAU "say \"whole\" fail 500"
~ mock/alpha UAUAU "say again"
