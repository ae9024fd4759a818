"""The public names: a change of this list is a change for users."""

import importlib
import inspect
import pkgutil

import pytest

import boost_langchain

API = {
    "boost_langchain": ["BoostRetriever", "SkillMarkdownLoader", "skill_context_node"],
    "boost_langchain.context": [
        "FAMILIES",
        "ContextBuilder",
        "ContextFamily",
        "ContextSource",
        "RecencyBoost",
        "context_source",
        "explanation_chain",
        "explanation_prompt",
        "format_context",
        "is_explanation_request",
    ],
    "boost_langchain.errors": [
        "BoostLangChainError",
        "BoostRetrievalError",
        "EvaluationFileError",
        "LangSmithServiceError",
        "SkillLoadError",
    ],
    "boost_langchain.evaluation": [
        "Difference",
        "Evaluation",
        "Floors",
        "Graded",
        "Grader",
        "Judgment",
        "Scores",
        "Slice",
        "below_floors",
        "difference",
        "evaluate",
        "langsmith_errors",
        "mean",
        "mirror",
        "open_client",
        "open_grader",
        "parse_floor",
        "read_evaluation",
        "read_floors",
        "read_golden",
        "retrieval_evaluator",
        "retrieval_target",
        "score",
    ],
    "boost_langchain.graph": ["Procedure", "leading_system", "procedures", "skill_context_node"],
    "boost_langchain.loader": ["CatalogLoader", "SkillMarkdownLoader", "document_key"],
    "boost_langchain.middleware": ["SkillContextMiddleware"],
    "boost_langchain.rerank": ["ChatReranker", "EmbeddingsReranker", "RerankedRetriever"],
    "boost_langchain.retriever": ["BoostRetriever", "format_procedures"],
    "boost_langchain.testing": ["TappedCatalog", "tapped_catalog"],
    "boost_langchain.tools": ["boost_tools", "skill_tools"],
}


def test_every_public_module_is_listed():
    """A module without an underscore is public, and has a list of its names."""
    found = {
        f"boost_langchain.{module.name}"
        for module in pkgutil.iter_modules(boost_langchain.__path__)
        if not module.name.startswith("_")
    }
    assert found == set(API) - {"boost_langchain"}


@pytest.mark.parametrize("module", API)
def test_names(module):
    """The names are these, sorted as ruff sorts them, and each says what it is."""
    loaded = importlib.import_module(module)
    ordered = sorted(API[module], key=lambda name: (not name.isupper(), name))
    assert list(loaded.__all__) == API[module] == ordered
    for name in loaded.__all__:
        value = getattr(loaded, name)
        documented = value if inspect.isclass(value) or inspect.isfunction(value) else type(value)
        assert inspect.getdoc(documented), name
        for attribute, method in vars(documented).items():
            if not attribute.startswith("_") and inspect.isfunction(method):
                assert inspect.getdoc(getattr(documented, attribute)), f"{name}.{attribute}"
