"""Differences between mkdocs and the host of a repository, evened out so that one page serves both."""

import re
from pathlib import Path


def slug(heading: str, separator: str) -> str:
    """The anchor of a heading, as hosts of repositories make it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config):
    config["mdx_configs"]["toc"]["slugify"] = slug
    return config


def on_page_markdown(markdown, page, config, files):
    """Links to a folder become its name: a manual has no folders to look into."""
    place = Path(config["docs_dir"], page.file.src_uri).parent

    def shown(link: re.Match) -> str:
        text, target = link.groups()
        path = target.split("#")[0]
        is_folder = path and "://" not in path and not (place / path).is_file()
        return text if is_folder and (ROOT / page.file.src_uri).parent.joinpath(path).is_dir() else link[0]

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", shown, markdown)


ROOT = Path(__file__).resolve().parents[2]
