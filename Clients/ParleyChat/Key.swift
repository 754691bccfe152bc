/// What a user does at a terminal.
enum Key: Hashable {
    /// Typed or pasted.
    case text(String)
    case enter, newline, escape, tab, backTab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown, wordLeft, wordRight
    /// A letter with Ctrl.
    case control(Character)
    case help
    /// The terminal's window got, or lost, the keyboard.
    case focusIn, focusOut
    case click(column: Int, row: Int)
    case wheel(up: Bool)
}
