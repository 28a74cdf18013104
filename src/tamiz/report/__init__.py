"""The result of a study, and its report as one HTML file.

A section of the report is a function that returns the variables of a template (or None if there is nothing to show), and a template
of the same name. The sections have the order of their lines; one whose variables contain folded=True is among the details, closed.
"""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    result            result:Result                              result   Result of a study
    table             table:collect_table                        section  Table
    columns           columns:collect_columns                    section  Columns
    recommendation    recommendation:collect_recommendation      section  Recommended columns
    subset            subset:collect_subset                      section  Subset
    redundancy        redundancy:collect_redundancy              section  Redundancy
    noise_experiment  noise_experiment:collect_noise_experiment  section  Noise experiment
    assessment        assessment:collect_assessment              section  Reliability
    graph             maps:collect_graph                         section  Graph
    maps              maps:collect_maps                          section  Maps
    quality           quality:collect_quality                    section  Quality of the maps
    reproduction      table:collect_reproduction                 section  Reproduce
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()
