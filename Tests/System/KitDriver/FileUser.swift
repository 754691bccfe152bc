import Foundation
import ParleyKit

/// Sends and reads files, and says on standard output what happens, a line each.
struct FileUser {
    enum Task: String {
        /// Sends a file and then three texts, and goes on until all of them are sent.
        case attach
        /// Goes on with what waits.
        case finish
        /// Loads the content and a thumbnail of the latest file.
        case read
        /// Says what is to be seen of it without the server.
        case seen
        /// Waits until the latest message is deleted, and says how many files there are then.
        case gone
    }

    let parley: Parley
    let id: ConversationID

    private var talk: Talk { parley.conversation(id) }

    func run(_ task: Task, file: String) async throws {
        if task != .seen { await parley.connect() }
        switch task {
        case .attach: try await attach(file)
        case .finish: await finish()
        case .read: try await read()
        case .seen: await see()
        case .gone: await waitForDeletion()
        }
        await parley.close()
    }

    private func say(_ words: String) { FileHandle.standardOutput.write(Data("\(words)\n".utf8)) }

    private func attach(_ path: String) async throws {
        for await state in parley.connection where state == .online { break }
        let message = try await talk.send("look", attachments: [LocalFile(URL(fileURLWithPath: path))])
        for number in 1...3 { try await talk.send("behind \(number)") }
        say("stored \(message)")
        for await progress in talk.uploadProgress(of: message) {
            say("sent \(progress.sentBytes) \(progress.totalBytes)")
        }
        await finish()
    }

    private func finish() async {
        for await count in parley.pendingWrites where count == 0 { break }
        say("done")
    }

    /// The latest file of the conversation.
    private func latest() async -> AttachmentRow? {
        for await update in talk.timeline() {
            if let row = update.rows.last(where: { !$0.attachments.isEmpty }) { return row.attachments[0] }
        }
        return nil
    }

    private func read() async throws {
        guard let file = await latest() else { return }
        say("file \(file.attachment.id) \(file.attachment.name) \(file.attachment.width ?? 0)")
        say("content \(try await talk.content(of: file).path)")
        say("thumbnail \(try await talk.thumbnail(of: file).path)")
    }

    private func see() async {
        guard let file = await latest() else { return }
        say("content \(file.content?.path ?? "none")")
        say("thumbnail \(file.thumbnail?.path ?? "none")")
    }

    private func waitForDeletion() async {
        for await update in talk.timeline() where update.rows.contains(where: \.message.deletedForEveryone) { break }
        say("deleted")
    }
}
