import Models
import Reactor

/// Texts of one block on their way into the index, which lie in one part of it.
struct SearchChunk {
    let conversation: ConversationID
    let block: Int64
    /// Among the chunks of its block, from 0.
    let place: Int16
    var filter = TextFilter()
    var texts: [Text] = []
    private var byteCount = 0

    struct Text {
        let seq: Int64
        /// As it was read. It lives as long as the rows.
        let body: UnsafeRawBufferPointer
        let text: String
    }

    init(_ conversation: ConversationID, block: Int64, place: Int16 = 0) {
        self.conversation = conversation
        self.block = block
        self.place = place
    }

    private var isFull: Bool { byteCount >= SearchBlock.partBytes }

    private mutating func add(_ text: SearchIndex.Portion.Text) {
        let folded = text.searched.withBytes { FoldedText($0) }
        let indexed = SearchBlock.text(folded)
        filter.add(folded)
        texts.append(Text(seq: text.seq, body: text.searched.text, text: indexed))
        byteCount += indexed.utf8.count
    }

    /// Folds the texts of a portion, in pieces. Those of edited messages may belong to any block.
    @Reactor
    static func chunks(_ portion: SearchIndex.Portion, in turns: TextTurns, _ piece: inout TextTurns.Piece) async
        -> [Self]
    {
        var chunks: [Self] = []
        var latest: [Int64: Int] = [:]
        for text in portion.texts {
            await turns.take(text.searched.byteCount, into: &piece)
            let block = text.seq / Int64(SearchBlock.positions)
            if let index = latest[block], !chunks[index].isFull {
                chunks[index].add(text)
            } else {
                let place = latest[block].map { chunks[$0].place + 1 } ?? 0
                latest[block] = chunks.count
                chunks.append(Self(portion.conversation, block: block, place: place))
                chunks[chunks.count - 1].add(text)
            }
        }
        return chunks
    }
}
