"""Descriptions of maps that approximate dissimilarities: classical, metric, ordinal, landmark and stochastic MDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz._study.map_descriptions.description import MapDescription

if TYPE_CHECKING:
    from tamiz.reduction.classical_mds import ClassicalMDS
    from tamiz.reduction.landmark_mds import LandmarkMDS
    from tamiz.reduction.mds import MDS
    from tamiz.reduction.stochastic_mds import StochasticMDS

# For each kind of MDS: the target of the distances, and the meaning of large distances.
_DISTANCE_MEANINGS = {
    "metric": ("the distances of the rows", ", and dissimilar rows are far apart."),
    "interval": ("a linear function of the distances of the rows, fitted to the map", "."),
    "ordinal": (
        "a monotone function of the distances of the rows, fitted to the map",
        ". The map preserves only the order of the distances.",
    ),
}


def describe_mds(mds: MDS) -> MapDescription:
    """Describe the stress and the convergence."""
    target, meaning = _DISTANCE_MEANINGS[mds.kind_]
    fitted = "those of the rows" if mds.kind_ == "metric" else "the fitted function"
    differences = f"the distances on the map and {fitted}"
    steps = f"{mds.n_iter_:,} {'iteration' if mds.n_iter_ == 1 else 'iterations'}"
    ended = f"SMACOF converged in {steps}" if mds.converged_ else f"SMACOF did not converge within {steps}"
    return MapDescription(
        mds.axis_names_,
        [
            f"Distances on the map approximate {target}. Kruskal's stress-1 is {mds.stress_:.3g}: the root mean square of "
            f"the differences between {differences}, divided by the root mean square of the distances on the map; 0 is a "
            "perfect map.",
            f"{ended}{'.' if mds.converged_ else '; the stress was still decreasing.'}",
        ],
        proximity_note=f"Rows that are similar in the table are near each other on the map{meaning}",
        stress=float(mds.stress_),
    )


def describe_classical_mds(mds: ClassicalMDS) -> MapDescription:
    """Describe the eigenvalues, the additive constant and the share of negative eigenvalues."""
    from tamiz.reduction.classical_mds import format_negative_share

    notes = []
    if mds.additive_constant_:
        added = (
            f"{mds.additive_constant_:.6g} was added to every distance, by Cailliez's rule"
            if mds.correction == "cailliez"
            else f"{2 * mds.additive_constant_:.6g} was added to every squared distance, by Lingoes's rule"
        )
        notes.append(f"{added}, so that the distances are Euclidean.")
    note = "The sum of squares along each coordinate."
    if not mds.is_euclidean_:
        share = format_negative_share(mds.negative_share_, mds.negative_share_error_)
        note += f" The distances are not Euclidean: {share} of the sum of absolute eigenvalues is negative."
    return MapDescription(
        mds.axis_names_,
        notes,
        proximity_note="The distance of two points approximates the distance of their rows in the table.",
        spectrum_label="Eigenvalue",
        spectrum=mds.eigenvalues_.tolist(),
        spectrum_note=note,
        residuals=mds.residuals_.tolist(),
    )


def describe_landmark_mds(mds: LandmarkMDS) -> MapDescription:
    """Describe the eigenvalues of the landmarks and the sampled stress."""
    error = f" +- {mds.sampled_stress_error_:.1g}" if mds.sampled_stress_error_ else ""
    return MapDescription(
        mds.axis_names_,
        [
            f"All rows are mapped by their distances to {len(mds.landmarks_):,} landmarks.",
            f"Stress {mds.sampled_stress_:.3g}{error}, over random pairs of rows."
            if error
            else f"Stress {mds.sampled_stress_:.3g}.",
        ],
        proximity_note="Rows with similar distances to the landmarks are near each other.",
        stress=float(mds.sampled_stress_),
        spectrum_label="Eigenvalue",
        spectrum=mds.eigenvalues_.tolist(),
        spectrum_note="The sum of squares of the landmarks along each of their coordinates.",
    )


def describe_stochastic_mds(mds: StochasticMDS) -> MapDescription:
    """Describe the sampled stress."""
    error = mds.sampled_stress_error_
    of = f" +- {error:.1g}, over random pairs of rows" if error else ""
    return MapDescription(
        mds.axis_names_,
        [
            f"Distances on the map approximate the dissimilarities ({mds.n_rounds_:,} rounds of stochastic descent). "
            f"Kruskal's stress-1 is {mds.sampled_stress_:.3g}{of}."
        ],
        proximity_note="The distance of two points approximates the distance of their rows in the table.",
        stress=float(mds.sampled_stress_),
    )
