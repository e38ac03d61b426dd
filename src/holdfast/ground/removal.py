"""Whether a text speaks of something that is no longer there, so that it may name it. Pure."""

from __future__ import annotations

import re

from holdfast.ground.patterns import compile_later

_REMOVAL = compile_later(
    r"\b(?:remov|delet|renam|replac|deprecat|obsolet|supersed|migrat(?:ed|ion)|split into|"
    r"merged into|dropped|gone\b|former|legacy|no longer|any ?more\b|used to|moved|instead of|"
    r"(?:do(?:es)? not|don't|doesn't) exist|no such (?:file|path|function|command|target)|"
    r"(?:never|do not|don't) run(?!\s\w)|"
    r"(?:never|not) (?:create|add|commit)|another repo|"
    r"(?:in|of|from) (?:the |our )(?!same |whole |main )[\w-]+ repo(?:sitory)?\b|"
    r"gelöscht|entfernt|umbenannt|ersetzt|verschoben|gibt es nicht|nicht mehr(?! als)|"
    r"supprimé|retiré|renommé|remplacé|déplacé|n'existe|eliminad|borrad|renombrad|reemplazad|"
    r"movid[oa]\b|ya no |удал|переимен|больше не)"
    r"|删除|删掉|移除|改名|重命名|不存在|削除|廃止|リネーム|存在しない|삭제|제거"
    # A step that is still to be done with what is named as code, which is no word here.
    r"|^\W*(?:todo\W+)?(?:(?:re-?)?create|restore)(?:\s*$|\s+(?:if|later|again)\b)",
    re.IGNORECASE | re.MULTILINE,
)


def speaks_of_removal(text: str) -> bool:
    return _REMOVAL.search(text) is not None
