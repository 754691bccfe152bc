/// Layouts that were made already, for texts so long that making them for each key would be felt.
final class LayoutMemory {
    private struct Key: Hashable {
        var text: String
        var width: Int
    }

    private var texts: [Key: [String]] = [:]
    private var written: (editor: TextEditor, width: Int, layout: TextEditor.Layout)?

    private static let longText = 500
    private static let mostTexts = 100

    func wrapped(_ text: String, width: Int) -> [String] {
        guard text.utf8.count > Self.longText else { return ParleyChat.wrapped(text, width: width) }
        let key = Key(text: text, width: width)
        if let known = texts[key] { return known }
        if texts.count >= Self.mostTexts { texts = [:] }
        let lines = ParleyChat.wrapped(text, width: width)
        texts[key] = lines
        return lines
    }

    /// What is being written is asked for many times for one frame.
    func composer(_ editor: TextEditor, width: Int) -> TextEditor.Layout {
        if let written, written.editor == editor, written.width == width { return written.layout }
        let layout = editor.layout(width: width)
        written = (editor, width, layout)
        return layout
    }
}
