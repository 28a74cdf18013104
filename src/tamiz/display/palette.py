"""The colours of points on light paper."""

# Three of Okabe and Ito's, then each the farthest from those before it to a normal eye and to the three kinds of
# colour blindness, dark enough for white paper; the shapes of the points tell the classes apart a second time.
CLASS_COLORS = [
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#990000",
    "#ccbbdd",
    "#663355",
    "#55dd77",
    "#cc6622",
    "#9988ff",
    "#883333",
]
# Viridis, its yellow darkened until it is seen on white.
GRADIENT = ["#440154", "#3b528b", "#21918c", "#5ec962", "#d2c51e"]
INK, MUTED, FAINT, RULE, STRONG = "#20272c", "#5d6970", "#a3adb3", "#c6ccce", "#3f7f9f"
