"""One visual language for terminal, figures, report and page: the Okabe–Ito colours, safe for colour-blind readers."""

BLUE, ORANGE, GREEN, PURPLE = "#0072b2", "#e69f00", "#009e73", "#cc79a7"
SKY, VERMILION, YELLOW, GREY = "#56b4e9", "#d55e00", "#f0e442", "#767676"

SERIES = (BLUE, ORANGE, GREEN, VERMILION, SKY, PURPLE, YELLOW, GREY)

ROLE_COLOURS = {
    "baseline": PURPLE,
    "high quality": GREEN,
    "qualified": SKY,
    "candidate": ORANGE,
    "dropped": VERMILION,
    "spared": YELLOW,
    "silent": GREY,
}
