"""What the methods rest on: the references that learners, selectors and the report cite."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Reference:
    """One entry of the list of references."""

    text: str

    @property
    def link(self) -> str:
        """Where the reader finds it, or an empty text."""
        doi = re.search(r"doi:(\S+)$", self.text)
        return f"https://doi.org/{doi[1]}" if doi else ""


_TEXTS = {
    "schleif2018": "Schleif, Gisbrecht, Tino. Supervised low rank indefinite kernel approximation "
    "using minimum enclosing balls. Neurocomputing (2018). doi:10.1016/j.neucom.2018.08.057",
    "gisbrecht2015": "Gisbrecht, Schleif. Metric and non-metric proximity transformations at "
    "linear costs. Neurocomputing (2015). doi:10.1016/j.neucom.2015.04.017",
    "oglic2019": "Oglic, Gärtner. Scalable learning in reproducing kernel Kreĭn spaces. ICML 2019, "
    "Proceedings of Machine Learning Research 97.",
    "schleif2015pcvm": "Schleif, Gisbrecht, Tino. Probabilistic classification vector machine at "
    "large scale. ESANN 2015.",
    "schleif2015epcvm": "Schleif, Chen, Tino. Incremental probabilistic classification vector "
    "machine with linear costs. IJCNN 2015.",
    "pekalska2009": "Pekalska, Haasdonk. Kernel discriminant analysis for positive definite and "
    "indefinite kernels. IEEE Transactions on Pattern Analysis and Machine Intelligence 31, "
    "1017-1032 (2009). doi:10.1109/TPAMI.2008.290",
    "chen2009": "Chen, Garcia, Gupta, Rahimi, Cazzanti. Similarity-based classification: concepts "
    "and algorithms. Journal of Machine Learning Research 10, 747-776 (2009).",
    "loosli2016": "Loosli, Canu, Ong. Learning SVM in Kreĭn spaces. IEEE Transactions on Pattern "
    "Analysis and Machine Intelligence 38, 1204-1216 (2016). doi:10.1109/TPAMI.2015.2477830",
    "tsang2005": "Tsang, Kwok, Cheung. Core vector machines: fast SVM training on very large data "
    "sets. Journal of Machine Learning Research 6, 363-392 (2005).",
    "pekalska2005": "Pekalska, Duin. The dissimilarity representation for pattern recognition. "
    "World Scientific (2005). doi:10.1142/5965",
    "frenay2011": "Frénay, Verleysen. Parameter-insensitive kernel in extreme learning for "
    "non-linear support vector regression. Neurocomputing 74, 2526-2531 (2011). "
    "doi:10.1016/j.neucom.2010.11.037",
    "badoiu2008": "Bădoiu, Clarkson. Optimal core-sets for balls. Computational Geometry 40, 14-22 "
    "(2008). doi:10.1016/j.comgeo.2007.04.002",
    "arthur2007": "Arthur, Vassilvitskii. k-means++: the advantages of careful seeding. SODA 2007.",
    "zhang2010": "Zhang, Kwok. Clustered Nyström method for large scale manifold learning and "
    "dimension reduction. IEEE Transactions on Neural Networks 21, 1576-1587 (2010).",
    "debrabanter2010": "De Brabanter, De Brabanter, Suykens, De Moor. Optimized fixed-size kernel "
    "models for large data sets. Computational Statistics & Data Analysis 54, 1484-1504 (2010). "
    "doi:10.1016/j.csda.2010.01.024",
    "alaoui2015": "Alaoui, Mahoney. Fast randomized kernel ridge regression with statistical "
    "guarantees. NIPS 2015, Advances in Neural Information Processing Systems 28.",
    "chen2025": "Chen, Epperly, Tropp, Webber. Randomly pivoted Cholesky: practical approximation "
    "of a kernel matrix with few entry evaluations. Communications on Pure and Applied "
    "Mathematics 78, 995-1041 (2025). doi:10.1002/cpa.22234",
    "cortinovis2024": "Cortinovis, Kressner. Adaptive randomized pivoting for column subset "
    "selection, DEIM, and low-rank approximation. arXiv (2024). doi:10.48550/arXiv.2412.13992",
    "leslie2002": "Leslie, Eskin, Noble. The spectrum kernel: a string kernel for SVM protein "
    "classification. Pacific Symposium on Biocomputing 7 (2002).",
    "jebara2003": "Jebara, Kondor. Bhattacharyya and expected likelihood kernels. COLT 2003, "
    "Lecture Notes in Computer Science 2777, 57-71. doi:10.1007/978-3-540-45167-9_6",
    "liao2002": "Liao, Noble. Combining pairwise sequence similarity and support vector machines "
    "for remote protein homology detection. RECOMB 2002, 225-232.",
    "quinonero2005": "Quiñonero-Candela, Rasmussen. A unifying view of sparse approximate Gaussian "
    "process regression. Journal of Machine Learning Research 6, 1939-1959 (2005).",
    "cawley2010": "Cawley, Talbot. On over-fitting in model selection and subsequent selection "
    "bias in performance evaluation. Journal of Machine Learning Research 11, 2079-2107 (2010).",
    "mcfadden1974": "McFadden. Conditional logit analysis of qualitative choice behavior. In: "
    "Zarembka (ed.), Frontiers in Econometrics, Academic Press, 105-142 (1974).",
    "viola2001": "Viola, Jones. Rapid object detection using a boosted cascade of simple features. "
    "CVPR 2001, volume 1, 511-518. doi:10.1109/CVPR.2001.990517",
    "daily2016": "Daily. Parasail: SIMD C library for global, semi-global, and local pairwise "
    "sequence alignments. BMC Bioinformatics 17, 81 (2016). doi:10.1186/s12859-016-0930-z",
    "rognes2011": "Rognes. Faster Smith-Waterman database searches with inter-sequence SIMD "
    "parallelisation. BMC Bioinformatics 12, 221 (2011). doi:10.1186/1471-2105-12-221",
    "le2008": "Le, Gascuel. An improved general amino acid replacement matrix. Molecular Biology "
    "and Evolution 25, 1307-1320 (2008). doi:10.1093/molbev/msn067",
    "duin2010": "Duin, Pękalska. Non-Euclidean dissimilarities: causes and informativeness. SSPR & "
    "SPR 2010, Lecture Notes in Computer Science 6218, 324-333. doi:10.1007/978-3-642-14980-1_31",
    "ong2004": "Ong, Mary, Canu, Smola. Learning with non-positive kernels. ICML 2004. "
    "doi:10.1145/1015330.1015443",
    "chang2000": "Chang. An information-theoretic approach to spectral variability, similarity, "
    "and discrimination for hyperspectral image analysis. IEEE Transactions on Information Theory "
    "46, 1927-1932 (2000). doi:10.1109/18.857802",
    "koller1997": "Koller, Sahami. Hierarchically classifying documents using very few words. "
    "ICML 1997, 170-178.",
    "sechidis2011": "Sechidis, Tsoumakas, Vlahavas. On the stratification of multi-label data. "
    "ECML PKDD 2011, Lecture Notes in Computer Science 6913, 145-158. "
    "doi:10.1007/978-3-642-23808-6_10",
    "guo2017": "Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017, "
    "Proceedings of Machine Learning Research 70.",
    "angelopoulos2021": "Angelopoulos, Bates, Candès, Jordan, Lei. Learn then test: calibrating "
    "predictive algorithms to achieve risk control. arXiv (2021). doi:10.48550/arXiv.2110.01052",
    "angelopoulos2024": "Angelopoulos, Bates, Fisch, Lei, Schuster. Conformal risk control. ICLR "
    "2024.",
    "vovk2012": "Vovk. Conditional validity of inductive conformal predictors. ACML 2012, "
    "Proceedings of Machine Learning Research 25, 475-490.",
    "romano2020": "Romano, Sesia, Candès. Classification with valid and adaptive coverage. NeurIPS "
    "2020, Advances in Neural Information Processing Systems 33, 3581-3591.",
    "jin2023": "Jin, Candès. Selection by prediction with conformal p-values. Journal of Machine "
    "Learning Research 24 (244), 1-41 (2023).",
    "benjamini1995": "Benjamini, Hochberg. Controlling the false discovery rate: a practical and "
    "powerful approach to multiple testing. Journal of the Royal Statistical Society B 57, 289-300 "
    "(1995). doi:10.1111/j.2517-6161.1995.tb02031.x",
    "nadeau2003": "Nadeau, Bengio. Inference for the generalization error. Machine Learning 52, "
    "239-281 (2003). doi:10.1023/A:1024068626366",
    "kiritchenko2006": "Kiritchenko, Matwin, Nock, Famili. Learning and evaluation in the presence "
    "of class hierarchies: application to text categorization. Canadian AI, LNCS 4013, 395-406 "
    "(2006). doi:10.1007/11766247_34",
    "mcnemar1947": "McNemar. Note on the sampling error of the difference between correlated "
    "proportions or percentages. Psychometrika 12, 153-157 (1947). doi:10.1007/BF02295996",
    "canay2017": "Canay, Romano, Shaikh. Randomization tests under an approximate symmetry "
    "assumption. Econometrica 85, 1013-1030 (2017). doi:10.3982/ECTA13081",
    "bonett2012": "Bonett, Price. Adjusted Wald confidence interval for a difference of binomial "
    "proportions based on paired data. Journal of Educational and Behavioral Statistics 37, "
    "479-488 (2012). doi:10.3102/1076998611411915",
    "rao1992": "Rao, Scott. A simple method for the analysis of clustered binary data. Biometrics "
    "48, 577-585 (1992). doi:10.2307/2532311",
    "holm1979": "Holm. A simple sequentially rejective multiple test procedure. Scandinavian "
    "Journal of Statistics 6, 65-70 (1979).",
    "pedregosa2011": "Pedregosa et al. Scikit-learn: machine learning in Python. Journal of "
    "Machine Learning Research 12, 2825-2830 (2011).",
    "moelder2021": "Mölder et al. Sustainable data analysis with Snakemake. F1000Research 10, 33 "
    "(2021). doi:10.12688/f1000research.29032.2",
    "tsoumakas2007": "Tsoumakas, Katakis. Multi-label classification: an overview. International "
    "Journal of Data Warehousing and Mining 3, 1-13 (2007). doi:10.4018/jdwm.2007070101",
    "platt1999": "Platt. Probabilistic outputs for support vector machines and comparisons to "
    "regularized likelihood methods. In: Smola, Bartlett, Schölkopf, Schuurmans (eds.), Advances "
    "in Large Margin Classifiers, MIT Press, 61-74 (2000).",
    "zhang2014": "Zhang, Zhou. A review on multi-label learning algorithms. IEEE Transactions on "
    "Knowledge and Data Engineering 26, 1819-1837 (2014). doi:10.1109/TKDE.2013.39",
}

REFERENCES = {key: Reference(text) for key, text in _TEXTS.items()}
"""In the order of the list that the page prints; all five papers of the methods are in it."""
