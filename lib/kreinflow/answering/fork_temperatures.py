"""From decisions to log probabilities along a tree of classes: a temperature for each fork."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax

from kreinflow.base.hierarchy import Forks
from kreinflow.base.numerics import FloatArray, tiles
from kreinflow.files.state import Number, State


@dataclass(frozen=True, eq=False)
class ForkTemperatures(State):
    r"""Temperature scaling of the conditional probabilities at each fork of a tree.

    One temperature for all classes is that of the hardest choice. Where classes are hard to tell
    from their siblings and easy to tell from all others, it makes the sums of the siblings too
    unsure. So, with :math:`q = softmax(f / T)` and the sum :math:`q_j` of the classes of a branch
    j,

    .. math:: \log p_c = \sum_{j \in way(c)} \log softmax(\log q / T_{fork(j)})_j

    where the softmax of a branch is over the branches of its fork.

    T is found on the classes of all inner out-of-fold decisions (1 if they are log probabilities),
    :math:`T_v` on the branches that the records of fork v take. A fork without records has the
    temperature of the fork above it. Unlike one temperature for all they may change the likeliest
    class. So all :math:`T_v` are 1, unless T is given, if of the classes of the rows w become
    wrong, r become right, and :math:`w - r > \sqrt{w + r}`, which is a standard error.
    """

    forks: Forks
    temperature: float  # T
    of_forks: FloatArray

    def log_probabilities(self, decisions: FloatArray) -> FloatArray:
        """Return log p, of shape (n, n_classes); each row depends on its own decisions alone."""
        out = np.empty_like(decisions)
        for part in tiles(len(decisions)):
            out[part] = self.tempered(self.branch_values(decisions[part]))
        return out

    def tempered(self, values: FloatArray) -> FloatArray:
        """Return log p of classes from log q of branches."""
        widths = [part.stop - part.start for part in self.forks.branches]
        return self.forks.log_probabilities(values / np.repeat(self.of_forks, widths))

    def branch_values(self, decisions: FloatArray) -> FloatArray:
        """Return log q of each branch."""
        scaled = np.ascontiguousarray(decisions / self.temperature)
        return self.forks.branch_log_probabilities(log_softmax(scaled, axis=1))

    state: ClassVar = {
        "above": Number("i", "b"),
        "leaf": Number("i", "c"),
        "temperature": Number("f"),
        "temperatures": Number("f", "forks"),
    }

    def stored(self) -> dict[str, Any]:
        """See :meth:`~kreinflow.files.state.State.stored`."""
        forks = {"above": self.forks.above, "leaf": self.forks.leaf}
        return {**forks, "temperature": self.temperature, "temperatures": self.of_forks}

    @classmethod
    def restored(cls, **values: Any) -> "ForkTemperatures":
        """See :meth:`~kreinflow.files.state.State.restored`."""
        forks = Forks(values["above"], values["leaf"])
        return cls(forks, values["temperature"], values["temperatures"])
