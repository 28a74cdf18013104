from tamiz.registry import Registry
from tamiz.assessment.assess import selection_report as selection_report
from tamiz.assessment.naive_bayes import NaiveBayes as NaiveBayes
from tamiz.assessment.predictors import NearestRows as NearestRows
from tamiz.assessment.predictors import Tree as Tree
from tamiz.assessment.report import SelectionReport as SelectionReport
from tamiz.assessment.set_stability import stability as stability

registry: Registry
