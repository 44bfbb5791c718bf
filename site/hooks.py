# SPDX-License-Identifier: Apache-2.0
"""MkDocs' hooks for the site: the headers' reference is a part of it, and links out of docs/ work.

- Doxygen's pages (build/site/reference/html) become files of the site, below reference/. So MkDocs checks links to them.
- A page links to a header of the tree (../include/anyplace/stream.h) as on GitHub: here that leads to the header's page in the
  reference. A link to any other file outside docs/ leads to the repository, of which mkdocs.yml has the address. A file that
  isn't in the tree is a warning.
- The search finds the reference's classes and members, too.
"""

import html
import json
import logging
import os
import pathlib
import re
import xml.etree.ElementTree as ET

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = ROOT / "build" / "site" / "reference"
log = logging.getLogger("mkdocs.hooks.anyplace")  # its warnings count with --strict

FENCE = re.compile(r"^ *(```|~~~)")
# [text](target "title"), outside of code. A text has no brackets but those of an image.
LINK = re.compile(r"(`+[^`]*`+)|(\]\()([^)\s]+)([^)]*\))")


def header_pages():
    """Which page of the reference is about which header, as "include/anyplace/stream.h": "stream_8h.html"."""
    pages = {}
    for compound in ET.parse(REFERENCE / "xml" / "index.xml").getroot().iter("compound"):
        if compound.get("kind") == "file":
            refid = compound.get("refid")
            path = ET.parse(REFERENCE / "xml" / f"{refid}.xml").getroot().find("compounddef/location").get("file")
            if (REFERENCE / "html" / f"{refid}.html").exists():
                pages["include/" + path] = f"{refid}.html"
    return pages


def on_files(files, config):
    for path in sorted((REFERENCE / "html").rglob("*")):
        if path.is_file():
            name = "reference/" + path.relative_to(REFERENCE / "html").as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    config.extra["header_pages"] = header_pages()
    return files


def moved(target, page, config):
    """Where a link of a page leads on the site."""
    if re.match(r"[a-z]+:|#|/", target):
        return target
    path, _, anchor = target.partition("#")
    in_tree = os.path.normpath(os.path.join("docs", os.path.dirname(page.file.src_uri), path))
    if in_tree.startswith("docs/") and (ROOT / in_tree).is_file():
        return target
    if in_tree in config.extra["header_pages"]:
        return os.path.relpath("reference/" + config.extra["header_pages"][in_tree], os.path.dirname(page.file.src_uri) or ".")
    if not (ROOT / in_tree).exists():
        log.warning("Doc file '%s' contains a link '%s', but there is no %s", page.file.src_uri, target, in_tree)
        return target
    kind = "tree" if (ROOT / in_tree).is_dir() else "blob"
    return f"{config.repo_url.rstrip('/')}/{kind}/main/{in_tree}" + (f"#{anchor}" if anchor else "")


def on_page_markdown(markdown, page, config, files):
    lines, fence = [], ""
    for line in markdown.split("\n"):
        mark = FENCE.match(line)
        if mark and fence in ("", mark.group(1)):
            fence = "" if fence else mark.group(1)
        elif not fence:
            line = LINK.sub(lambda m: m.group(1) or m.group(2) + moved(m.group(3), page, config) + m.group(4), line)
        lines.append(line)
    return "\n".join(lines)


def text_of(element):
    return " ".join("".join(element.itertext()).split()) if element is not None else ""


def reference_entries():
    """What the search finds of the reference: each class and member with its sentences."""
    seen = set()
    for path in sorted((REFERENCE / "xml").glob("*.xml")):
        for compound in ET.parse(path).getroot().iter("compounddef"):
            whole = compound.findtext("compoundname")
            page = REFERENCE / "html" / f"{compound.get('id')}.html"
            if not page.exists():
                continue
            anchors = page.read_text(encoding="utf-8")
            if compound.get("kind") in ("class", "struct", "union"):
                yield page.name, whole, text_of(compound.find("briefdescription")) + " " + text_of(compound.find("detaileddescription"))
            for member in compound.iter("memberdef"):
                anchor = member.get("id").rpartition("_1")[2]
                if member.get("id") in seen or f'id="{anchor}"' not in anchors:
                    continue
                seen.add(member.get("id"))
                name = member.findtext("name")
                if compound.get("kind") in ("class", "struct", "union", "namespace"):
                    name = f"{whole}::{name}"
                yield f"{page.name}#{anchor}", name, text_of(member.find("briefdescription")) + " " + text_of(member.find("detaileddescription"))


def on_post_build(config):
    index = pathlib.Path(config.site_dir) / "search" / "search_index.json"
    content = json.loads(index.read_text(encoding="utf-8"))
    for location, title, text in reference_entries():
        content["docs"].append({"location": "reference/" + location, "title": html.escape(title), "text": html.escape(text.strip())})
    index.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")
