import CNcurses
import Glibc
import Models
import Reactor

/// The terminal in full-screen mode, through ncurses.
///
/// Of one thread: ncurses keeps its state in global variables.
@Reactor
final class Terminal {
    /// Neither standard input nor the kind of terminal is known to be one that can be drawn on.
    struct Unusable: Error {}

    private let window: UnsafeMutablePointer<WINDOW>
    private var isOpen = true
    private var styles: [Style: CInt] = [:]
    private let hasColors: Bool
    /// What is on the screen; nothing after it was cleared.
    private var shown: [Line] = []
    private var paste: String?

    /// - Parameter mouse: whether clicks and the wheel come here instead of selecting text.
    init(mouse: Bool) throws(Unusable) {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, TerminalLocale.isUnicode else { throw Unusable() }
        Self.restoreOnCrash()
        guard let window = ncurses_open() else { throw Unusable() }
        self.window = window
        raw()
        noecho()
        nonl()
        set_escdelay(25)
        keypad(window, true)
        nodelay(window, true)
        hasColors = has_colors() && getenv("NO_COLOR") == nil
        if hasColors {
            start_color()
            use_default_colors()
        }
        keepErrors()
        if mouse { mousemask(Self.mouseEvents, nil) }
        for (sequence, code) in Self.sequences { define_key(sequence, code) }
        Self.write(Self.reports)
    }

    /// Gives the terminal back as it was.
    func close() {
        guard isOpen else { return }
        isOpen = false
        Self.write(Self.noReports)
        endwin()
        giveErrorsBack()
    }

    // MARK: Size

    var size: Size { Size(columns: Int(getmaxx(window)), rows: Int(getmaxy(window))) }

    /// The window has another size.
    func resize() {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return }
        resizeterm(CInt(size.ws_row), CInt(size.ws_col))
        shown = []
    }

    // MARK: Drawing

    func draw(_ frame: Frame) {
        guard isOpen else { return }
        for (row, line) in frame.lines.enumerated() where row >= shown.count || shown[row] != line {
            draw(line, row: CInt(row))
        }
        shown = frame.lines
        if let cursor = frame.cursor {
            wmove(window, CInt(cursor.row), CInt(cursor.column))
            curs_set(1)
        } else {
            curs_set(0)
        }
        wrefresh(window)
    }

    private func draw(_ line: Line, row: CInt) {
        wmove(window, row, 0)
        wattrset(window, 0)
        wclrtoeol(window)
        for span in line.spans {
            wattrset(window, attributes(of: span.style))
            let characters = span.text.unicodeScalars.map { wchar_t(bitPattern: $0.value) }
            waddnwstr(window, characters, CInt(characters.count))
        }
    }

    /// Whatever another program wrote is drawn over.
    func redraw() {
        shown = []
        wclear(window)
    }

    private func attributes(of style: Style) -> CInt {
        if let known = styles[style] { return known }
        var attributes: CInt = 0
        if style.isBold { attributes |= ncurses_bold }
        if style.isDim { attributes |= ncurses_dim }
        if style.isReverse { attributes |= ncurses_reverse }
        if hasColors, style.color != .plain {
            let pair = CShort(style.color.rawValue)
            init_pair(pair, style.color.number(of: ncurses_colors()), -1)
            attributes |= ncurses_pair(CInt(pair))
        }
        styles[style] = attributes
        return attributes
    }

    // MARK: Keys

    /// Returns the next key; nil if no more have been pressed.
    func nextKey() -> Key? {
        while true {
            var code: wint_t = 0
            let kind = wget_wch(window, &code)
            guard kind != ERR else { return nil }
            let key = kind == KEY_CODE_YES ? special(CInt(bitPattern: code)) : ordinary(code)
            if let key = gathered(key) { return key }
        }
    }

    /// What is pasted is one text, and its line ends send nothing.
    private func gathered(_ input: Input?) -> Key? {
        switch input {
        case .pasteBegin: paste = ""
        case .pasteEnd:
            defer { paste = nil }
            if let paste, !paste.isEmpty { return .text(paste) }
        case .key(let key):
            guard let length = paste?.utf8.count else { return key }
            // More than fits into a message is of no use, and the end of a paste may never come.
            guard length <= ContractLimits.textBytes else { break }
            switch key {
            case .text(let text): paste? += text
            case .enter, .newline: paste? += "\n"
            case .tab: paste? += " "
            default: break
            }
        case nil: break
        }
        return nil
    }

    private enum Input {
        case key(Key)
        case pasteBegin, pasteEnd
    }

    private func ordinary(_ code: wint_t) -> Input? {
        switch code {
        case 9: return .key(.tab)
        case 10: return .key(.newline)
        case 13: return .key(.enter)
        case 27: return .key(afterEscape())
        case 8, 127: return .key(.backspace)
        case 1..<27:
            return Unicode.Scalar(UInt8(code) + 96).isASCII
                ? .key(.control(Character(Unicode.Scalar(UInt8(code) + 96)))) : nil
        default:
            guard code >= 32, let scalar = Unicode.Scalar(code) else { return nil }
            return .key(.text(String(scalar)))
        }
    }

    /// Escape by itself, or Alt with another key.
    private func afterEscape() -> Key {
        var code: wint_t = 0
        let kind = wget_wch(window, &code)
        guard kind != ERR else { return .escape }
        switch (kind, code) {
        case (OK, 10), (OK, 13): return .newline
        case (OK, UInt32(UInt8(ascii: "b"))): return .wordLeft
        case (OK, UInt32(UInt8(ascii: "f"))): return .wordRight
        case (OK, 127): return .control("w")
        default:
            // Two keys.
            if kind == KEY_CODE_YES { ungetch(CInt(bitPattern: code)) } else { unget_wch(wchar_t(bitPattern: code)) }
            return .escape
        }
    }

    private func special(_ code: CInt) -> Input? {
        if let key = Self.specialKeys[code] { return .key(key) }
        switch code {
        case Self.pasteBegin: return .pasteBegin
        case Self.pasteEnd: return .pasteEnd
        case KEY_MOUSE: return mouse().map(Input.key)
        default: return nil
        }
    }

    private func mouse() -> Key? {
        var event = MEVENT()
        guard getmouse(&event) == OK else { return nil }
        if event.bstate & ncurses_wheel_up != 0 { return .wheel(up: true) }
        if event.bstate & ncurses_wheel_down != 0 { return .wheel(up: false) }
        return .click(column: Int(event.x), row: Int(event.y))
    }

    // MARK: Codes

    private static let focusIn: CInt = 0x1000
    private static let focusOut: CInt = 0x1001
    private static let pasteBegin: CInt = 0x1002
    private static let pasteEnd: CInt = 0x1003
    private static let wordLeft: CInt = 0x1004
    private static let wordRight: CInt = 0x1005

    /// What xterm and those like it send, beside what the description of the terminal names.
    private static let sequences: [(String, CInt)] = [
        ("\u{1B}[I", focusIn), ("\u{1B}[O", focusOut), ("\u{1B}[200~", pasteBegin), ("\u{1B}[201~", pasteEnd),
        ("\u{1B}[1;5D", wordLeft), ("\u{1B}[1;5C", wordRight), ("\u{1B}[1;3D", wordLeft), ("\u{1B}[1;3C", wordRight),
        ("\u{1B}[H", KEY_HOME), ("\u{1B}[F", KEY_END), ("\u{1B}[1~", KEY_HOME), ("\u{1B}[4~", KEY_END),
        ("\u{1B}[A", KEY_UP), ("\u{1B}[B", KEY_DOWN), ("\u{1B}[C", KEY_RIGHT), ("\u{1B}[D", KEY_LEFT),
    ]

    private static let specialKeys: [CInt: Key] = [
        KEY_UP: .up, KEY_DOWN: .down, KEY_LEFT: .left, KEY_RIGHT: .right, KEY_HOME: .home, KEY_END: .end,
        KEY_PPAGE: .pageUp, KEY_NPAGE: .pageDown, KEY_BACKSPACE: .backspace, KEY_DC: .delete, KEY_BTAB: .backTab,
        KEY_ENTER: .enter, ncurses_f1: .help, focusIn: .focusIn, focusOut: .focusOut, wordLeft: .wordLeft,
        wordRight: .wordRight,
    ]

    private static let mouseEvents = ncurses_mouse_events

    // MARK: Reports and crashes

    /// Reports of focus and of what is pasted.
    private static let reports = "\u{1B}[?1004h\u{1B}[?2004h"
    private static let noReports = "\u{1B}[?1004l\u{1B}[?2004l"

    private static func write(_ text: String) {
        var text = text
        text.withUTF8 { _ = Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    /// Also a process that crashes leaves a terminal in which one can go on.
    private static func restoreOnCrash() {
        guard tcgetattr(STDIN_FILENO, &modesBefore) == 0 else { return }
        for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP] {
            signal(number) { number in
                // Nothing here allocates or locks.
                tcsetattr(STDIN_FILENO, TCSANOW, &modesBefore)
                crashSequence.withUTF8Buffer { _ = Glibc.write(STDOUT_FILENO, $0.baseAddress, $0.count) }
                giveErrorsBack()
                signal(number, SIG_DFL)
                raise(number)
            }
        }
    }
}

/// Leaves the alternate screen, shows the cursor, and ends reports and attributes.
private let crashSequence: StaticString = "\u{1B}[?1004l\u{1B}[?2004l\u{1B}[?1049l\u{1B}[?25h\u{1B}[0m\r\n"
/// Set before the handlers that read it.
private nonisolated(unsafe) var modesBefore = termios()

// What libraries write to standard error would be in the middle of the screen: it is shown when that is gone. Set on the
// reactor's thread; a handler of a crash on another one reads numbers.
private nonisolated(unsafe) var standardError: CInt = -1
private nonisolated(unsafe) var keptErrors: CInt = -1

private func keepErrors() {
    guard isatty(STDERR_FILENO) == 1, let file = tmpfile() else { return }
    keptErrors = fileno(file)
    standardError = dup(STDERR_FILENO)
    dup2(keptErrors, STDERR_FILENO)
}

/// Calls nothing that a handler of signals may not call.
private func giveErrorsBack() {
    guard standardError >= 0 else { return }
    dup2(standardError, STDERR_FILENO)
    standardError = -1
    lseek(keptErrors, 0, SEEK_SET)
    withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 1) { part in
        while case let count = read(keptErrors, part.baseAddress, part.count), count > 0 {
            guard write(STDERR_FILENO, part.baseAddress, count) == count else { return }
        }
    }
}

extension Style.Color {
    /// The number in a terminal's palette.
    fileprivate func number(of count: CInt) -> CShort {
        switch self {
        case .plain: -1
        case .own: 6
        case .good: 2
        case .warning: 3
        case .bad: 1
        case .first: count >= 256 ? 75 : 4
        case .second: count >= 256 ? 176 : 5
        case .third: count >= 256 ? 114 : 2
        case .fourth: count >= 256 ? 180 : 3
        }
    }
}
