"""Short original texts for tests of judges."""

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
