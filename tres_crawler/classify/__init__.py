"""Document → Judgement: is it relevant?"""
