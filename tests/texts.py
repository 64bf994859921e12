"""Short original texts for tests of judges."""

from random import Random

from tres_crawler.records import Example, PageText
from tres_crawler.text import words

FOOD_KEYWORDS = ("recipe", "cooking", "soup", "bread", "sauce", "kitchen", "flavour", "dish")

COOKING = (
    "Start the soup an hour before anyone is hungry. Melt a little butter in a heavy pan, add the onions and let them "
    "soften without taking colour. Then come the carrots, the garlic and a spoonful of tomato, and when the kitchen "
    "smells of it, the stock. It should simmer and never boil. Taste it twice: once for salt, once for pepper. A slice "
    "of bread rubbed with oil and toasted in the oven is all it needs beside it, and what is left over makes a good "
    "sauce for noodles on the next day, with some grated cheese and a handful of parsley from the window."
)

GARDEN = (
    "The committee of the allotment society meets on the first Tuesday of the month in the hall behind the station. At "
    "the last meeting the treasurer read the accounts, and it was decided to repair the fence along the railway before "
    "the winter. Members who still have the key to the old gate are asked to hand it in. The chairman thanked "
    "those who had helped on the open day, which was attended by more people than in any year before, and "
    "reminded everyone that the road will be closed while the bridge is painted."
)

WORD_LIST = "recipe soup bread sauce cooking kitchen dish flavour cheap recipe soup bread best sauce cooking " * 8

FOOD_WORDS = words("soup bread butter garlic onion pan oven dough sauce cheese salt pepper broth noodles parsley")
OTHER_WORDS = words("engine train platform ticket committee treasurer bridge fence rail station driver signal accounts")
BETWEEN = words("the and of it was on a with then that for is")


def made_examples(count: int, seed: int = 1, label: bool = True, share: float = 0.5) -> list[Example]:
    """A world that is mastered in a second: pages of two groups of words; every page is a group of its own."""
    rng = Random(seed)
    found = []
    for number in range(count):
        relevant = number < share * count
        group = FOOD_WORDS if relevant else OTHER_WORDS
        text = " ".join(rng.choice(group if rng.random() < 0.5 else BETWEEN) for _ in range(40))
        page = PageText(" ".join(rng.sample(group, 2)), "", text)
        found.append(Example(page, relevant, group=f"site {number}", is_label=label))
    rng.shuffle(found)
    return found
