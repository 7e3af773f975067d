"""The figures, and the one page that tells what a run did and how far to trust it.

Three steps: ``reading`` has the results as one object, ``words``, ``methods``, ``sections`` and
``recipes`` make sentences and tables of it, and ``page`` lays them out.
"""
