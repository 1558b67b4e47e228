"""Puts the configs into the package: components have their defaults from them."""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["spacy_hpyp*"]), "spacy_hpyp.configs"],
    package_dir={"spacy_hpyp.configs": "configs"},
    package_data={
        "spacy_hpyp.pipeline": ["defaults.cfg"],
        "spacy_hpyp.configs": ["*.cfg"],
        "spacy_hpyp.cli": ["report.html"],
    },
)
