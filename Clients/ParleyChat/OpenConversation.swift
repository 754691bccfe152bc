import Models
import ParleyPresentation
import ParleyStorage

/// The conversation that is open: what is known of it, what is being written, and which part is on the screen.
struct OpenConversation {
    /// What becomes of the text that is being written.
    enum Mode: Equatable {
        case message
        /// Sender and preview are nil until the message is loaded.
        case reply(to: MessageID, sender: UserID?, preview: String?)
        /// - Parameter draft: what was being written before.
        case edit(MessageID, draft: String)
    }

    let id: ConversationID
    /// It need not be among those of the list.
    var entry: ListEntry?
    var timeline = TimelineState()
    var bubbles: [Bubble] = []
    var receipts: [MessageID: MessageReceipts] = [:]
    var members: [Membership] = []
    var typing: [UserID] = []
    /// Of messages whose files are on their way.
    var uploads: [MessageID: UploadProgress] = [:]

    var editor = TextEditor()
    var mode = Mode.message
    /// Whether to decline a request is asked.
    var isDeclining = false
    /// What the copy has, or is to have, as a draft. While the user writes, `draft` differs from it.
    private var kept: Draft?
    /// As the copy showed it last.
    private var shown: Draft?
    /// The copy does not show it yet: what it shows is older.
    private var isKeeping = false

    /// What is at the lower edge of the screen.
    var place = Place.end
    /// Whether it was decided where to begin: at the first unread message, at a message to be shown, or at the end.
    var hasBegun = false
    var selected: MessageID?
    /// Messages that the user wants to know more of.
    var tapped: Set<MessageID> = []
    /// To be selected when it is loaded.
    var target: MessageID?
    /// Where more was asked for already.
    var askedBefore: MessageID?
    var askedAfter: MessageID?
    var markedRead: Int64 = 0
    /// The last key since which the others see that the user types.
    var typingSince: Timestamp?

    init(_ id: ConversationID) { self.id = id }

    var selectedRow: TimelineRow? { selected.flatMap { id in rows.first { $0.id == id } } }

    var rows: [TimelineRow] { timeline.rows }

    /// The text that will be a message, and its parent; nil if there is nothing to keep.
    var draft: Draft? {
        switch mode {
        case .message: editor.isEmpty ? nil : Draft(text: editor.text)
        case .reply(let parent, _, _): Draft(text: editor.text, replyTo: parent)
        case .edit(_, let draft): draft.isEmpty ? nil : Draft(text: draft)
        }
    }

    var hasUnsavedDraft: Bool { draft != kept }

    /// Has what is written kept, if it is not.
    mutating func keep() -> [ChatEffect] {
        guard hasUnsavedDraft else { return [] }
        kept = draft
        isKeeping = kept != shown
        return [.keepDraft(id, kept)]
    }

    /// Takes back what could not be sent: it comes before what was begun since, and both are kept.
    mutating func takeBack(_ written: Draft) -> [ChatEffect] {
        let all = written.followed(by: draft)
        if case .edit(let message, _) = mode {
            mode = .edit(message, draft: all.text)
        } else {
            editor.replace(with: all.text)
            if mode == .message, let parent = all.replyTo { mode = .reply(to: parent, sender: nil, preview: nil) }
        }
        let effects = keep()
        // That nothing is written may still come to be shown.
        if !effects.isEmpty { isKeeping = true }
        return effects
    }

    /// Takes over what was written on another device, or that it was sent there, unless the user is writing here.
    mutating func takeOver(_ draft: Draft?) {
        shown = draft
        if shown == kept { isKeeping = false }
        guard shown != kept, !isKeeping, !hasUnsavedDraft else { return }
        kept = shown
        if case .edit(let message, _) = mode {
            mode = .edit(message, draft: shown?.text ?? "")
        } else {
            editor.replace(with: shown?.text ?? "")
            mode = shown?.replyTo.map { .reply(to: $0, sender: nil, preview: nil) } ?? .message
        }
    }
}

extension Draft {
    /// This, and what was begun after it.
    func followed(by later: Draft?) -> Draft {
        guard let later, !later.text.isEmpty else { return self }
        return Draft(text: text + "\n" + later.text, replyTo: later.replyTo ?? replyTo)
    }
}
