// ncurses with wide characters. Functions here stand for macros and variables that Swift cannot import.
#define NCURSES_WIDECHAR 1
// Booleans as C has them: `TRUE` of ncurses is a macro.
#include <ncursesw/curses.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <wchar.h>

// NULL if TERM names no terminal that can be drawn on; `initscr` would end the process.
// The terminal itself says how large it is. LINES and COLUMNS, which ncurses would rather believe, are those of whoever
// set the environment, often of another terminal (curs_util(3)).
static inline WINDOW *ncurses_open(void) {
    use_env(false);
    use_tioctl(true);
    return newterm(NULL, stdout, stdin) ? stdscr : NULL;
}
static inline int ncurses_colors(void) { return COLORS; }
static inline int ncurses_pair(int number) { return COLOR_PAIR(number); }
static const int ncurses_bold = A_BOLD;
static const int ncurses_dim = A_DIM;
static const int ncurses_reverse = A_REVERSE;
static const int ncurses_underline = A_UNDERLINE;
// wcwidth is hidden behind _XOPEN_SOURCE.
static inline int ncurses_width(unsigned int scalar) {
    extern int wcwidth(wchar_t);
    return wcwidth((wchar_t)scalar);
}
static const int ncurses_f1 = KEY_F(1);
static const mmask_t ncurses_wheel_up = BUTTON4_PRESSED;
static const mmask_t ncurses_wheel_down = BUTTON5_PRESSED;
static const mmask_t ncurses_mouse_events = BUTTON1_CLICKED | BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED;
