#!/usr/bin/env python3
"""Preprocessor of the book. It names by its path in the repository what a page links to outside of `docs`, which the book does not have, and leads links to
README.md to index.md, as mdBook calls these pages."""

import json
import posixpath
import re
import sys

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^):#\s]+)(#[^)\s]*)?\)")


def linked(text, path):
    """The text of a page of this path, with links that lead somewhere in the book."""

    def named(link):
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(path), link[2]))
        if not target.startswith("docs/"):
            return f"{link[1]} (`{target}` in the repository)"
        return re.sub(r"README\.md(?=[)#])", "index.md", link[0])

    return LINK.sub(named, text)


def walk(items):
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter:
            if chapter.get("path"):
                chapter["content"] = linked(chapter["content"], chapter["path"])
            walk(chapter["sub_items"])


if sys.argv[1:2] == ["supports"]:
    sys.exit(0)
_, book = json.load(sys.stdin)
# mdBook 0.4 called them sections.
walk(book.get("items") or book.get("sections") or [])
json.dump(book, sys.stdout)
