"""English function words: they find nothing by themselves."""

STOP_WORDS = """
a an and are as at be been by can could did do does for from had has have how i if in into is it its
many me much my of on or s should that the their there these they this to was we were what when
where which who whom whose why will with would you your
"""
MORE_FUNCTION_WORDS = """
about after all also any because before between both but during each ever else get he her here him
his just may might more most must no not off only other our out over shall she so some such than
them then through too under until up us very want when while within without
"""
FUNCTION_WORDS = frozenset([*STOP_WORDS.split(), *MORE_FUNCTION_WORDS.split()])
