from tamiz.registry import Registry
from tamiz.assessment.argument import AddedColumns as AddedColumns
from tamiz.assessment.argument import added_columns as added_columns
from tamiz.assessment.assess import selection_report as selection_report
from tamiz.assessment.columns_compared import ColumnComparison as ColumnComparison
from tamiz.assessment.columns_compared import compare_columns as compare_columns
from tamiz.assessment.naive_bayes import NaiveBayes as NaiveBayes
from tamiz.assessment.predictors import Forest as Forest
from tamiz.assessment.predictors import Logistic as Logistic
from tamiz.assessment.predictors import NearestRows as NearestRows
from tamiz.assessment.predictors import RidgeRegression as RidgeRegression
from tamiz.assessment.predictors import Tree as Tree
from tamiz.assessment.recommendation import Recommendation as Recommendation
from tamiz.assessment.recommendation import recommend_columns as recommend_columns
from tamiz.assessment.report import SelectionReport as SelectionReport
from tamiz.assessment.set_stability import stability as stability

registry: Registry
