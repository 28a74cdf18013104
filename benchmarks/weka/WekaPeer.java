import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.FileReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import weka.attributeSelection.ASEvaluation;
import weka.attributeSelection.ASSearch;
import weka.attributeSelection.AttributeEvaluator;
import weka.attributeSelection.BestFirst;
import weka.attributeSelection.CfsSubsetEval;
import weka.attributeSelection.GainRatioAttributeEval;
import weka.attributeSelection.GreedyStepwise;
import weka.attributeSelection.InfoGainAttributeEval;
import weka.attributeSelection.ReliefFAttributeEval;
import weka.attributeSelection.SubsetEvaluator;
import weka.attributeSelection.SymmetricalUncertAttributeEval;
import weka.core.Attribute;
import weka.core.FastVector;
import weka.core.Instance;
import weka.core.Instances;
import weka.core.OptionHandler;
import weka.core.Utils;
import weka.core.Version;
import weka.filters.supervised.attribute.Discretize;

/**
 * Weka 3.6 as a peer: one JSON document on stdout, nothing else.
 *
 *   reference TABLE.arff ... [--top K TABLE.arff ...]   scores, cut points, merits and searches; the target is the last column.
 *                                                       Tables after --top K give the K best scores only, and best-first only.
 *   searches COLUMNS SEED:LEVELS ...                    a random merit in 0 .. LEVELS - 1 for every subset (the empty one 0), and
 *                                                       the subset that each search chooses, both by mask: bit j is column j.
 *   relief TABLE.arff ...                               ReliefF scores of every column with several options.
 *   time infogain|cfs|relief FILE ROWS LEVELS REPEATS   seconds of every repeat inside one JVM, and what came out. FILE holds
 *                                                       big-endian doubles row by row, the target last; LEVELS is one number a
 *                                                       column, comma separated: its number of values, 0 for a numeric one.
 *
 * tests/reference/weka_extra.json is "reference cpu.arff mixed_numeric_target.arff mixed_missing.arff weighted.arff --top 10
 * supermarket.arff"; weka_relief.json is "relief cpu.arff mixed_numeric_target.arff mixed_missing.arff"; weka_searches.json is "searches 5" with 1, 3, 4, 6, 11, 29, 46, 63, 359, 387 of 1000 levels and 2, 14, 61,
 * 132 of 5: seeds on which a plain best-first or greedy search ends elsewhere, and some on which it does not.
 */
public class WekaPeer {
    static final String[] NO_OPTIONS = {};
    static final String[] MISSING_SEPARATE = {"-M"};
    static final String[][] SEARCHES = {{"BestFirst", "-D", "1", "-N", "5"}, {"BestFirst", "-D", "0", "-N", "5"},
        {"BestFirst", "-D", "2", "-N", "5"}, {"GreedyStepwise"}, {"GreedyStepwise", "-B"}};
    static final String[][] RELIEF_OPTIONS = {{}, {"-K", "1"}, {"-K", "5"}, {"-W", "-K", "10", "-A", "2"}, {"-W", "-K", "4", "-A", "3"}};
    static final int MOST_COLUMNS_FOR_ALL_SUBSETS = 10;

    public static void main(String[] arguments) throws Exception {
        Locale.setDefault(Locale.ROOT);
        if (arguments[0].equals("reference")) {
            reference(Arrays.copyOfRange(arguments, 1, arguments.length));
        } else if (arguments[0].equals("relief")) {
            relief(Arrays.copyOfRange(arguments, 1, arguments.length));
        } else if (arguments[0].equals("searches")) {
            searches(Integer.parseInt(arguments[1]), Arrays.copyOfRange(arguments, 2, arguments.length));
        } else if (arguments[0].equals("time")) {
            time(arguments[1], arguments[2], Integer.parseInt(arguments[3]), arguments[4], Integer.parseInt(arguments[5]));
        } else {
            throw new IllegalArgumentException("the first argument must be reference, relief, searches or time, got " + arguments[0]);
        }
    }

    // ---------------------------------------------------------------- reference values

    static void reference(String[] arguments) throws Exception {
        List<String> tables = new ArrayList<>();
        int top = 0;
        for (int a = 0; a < arguments.length; a++) {
            if (arguments[a].equals("--top")) {
                top = Integer.parseInt(arguments[++a]);
                continue;
            }
            tables.add(quote(tableName(arguments[a])) + ": " + describe(load(arguments[a]), top));
        }
        System.out.println("{\"weka_version\": " + quote(Version.VERSION) + ",\n\"datasets\": {\n" + String.join(",\n", tables) + "\n}}");
    }

    static void relief(String[] paths) throws Exception {
        List<String> tables = new ArrayList<>();
        for (String path : paths) {
            List<String> rank = new ArrayList<>();
            for (String[] options : RELIEF_OPTIONS) {
                rank.add(scores(new ReliefFAttributeEval(), options, load(path), 0));
            }
            tables.add(quote(tableName(path)) + ": {\"rank\": [\n" + String.join(",\n", rank) + "]}");
        }
        System.out.println("{\"weka_version\": " + quote(Version.VERSION) + ",\n\"datasets\": {\n" + String.join(",\n", tables) + "\n}}");
    }

    static Instances load(String path) throws Exception {
        try (BufferedReader reader = new BufferedReader(new FileReader(path))) {
            Instances table = new Instances(reader);
            table.setClassIndex(table.numAttributes() - 1);
            return table;
        }
    }

    static String tableName(String path) {
        return path.replaceAll(".*/", "").replaceAll("[.]arff$", "");
    }

    static String describe(Instances table, int top) throws Exception {
        boolean classes = table.classAttribute().isNominal();
        int missing = 0;
        boolean numericColumns = false;
        boolean weighted = weighted(table);
        List<String> names = new ArrayList<>();
        List<String> types = new ArrayList<>();
        for (int j = 0; j < table.numAttributes(); j++) {
            names.add(quote(table.attribute(j).name()));
            types.add(quote(table.attribute(j).isNumeric() ? "numeric" : "nominal"));
            numericColumns |= table.attribute(j).isNumeric() && j != table.classIndex();
            missing += table.attributeStats(j).missingCount;
        }
        List<String> parts = new ArrayList<>();
        parts.add("\"n\": " + table.numInstances());
        parts.add("\"class\": " + quote(table.classAttribute().name()));
        if (top == 0) {
            parts.add("\"attributes\": " + names);
            parts.add("\"types\": " + types);
        }
        parts.add("\"missing_cells\": " + missing);
        if (!weighted && table.numAttributes() - 1 <= MOST_COLUMNS_FOR_ALL_SUBSETS) {
            parts.add("\"cfs_subset_merits\": " + allMerits(table, NO_OPTIONS));
            if (missing > 0) {
                parts.add("\"cfs_subset_merits_missing_separate\": " + allMerits(table, MISSING_SEPARATE));
            }
        }
        if (classes && numericColumns) {
            parts.add("\"mdl_cut_points\": {\"better_encoding\": " + cutPoints(table) + "}");
        }
        List<String[]> modes = new ArrayList<>();
        modes.add(NO_OPTIONS);
        if (missing > 0) {
            modes.add(MISSING_SEPARATE);
        }
        if (classes) {
            List<String> rank = new ArrayList<>();
            for (String[] options : modes) {
                rank.add(scores(new InfoGainAttributeEval(), options, table, top));
                rank.add(scores(new GainRatioAttributeEval(), options, table, top));
                if (!weighted) {
                    rank.add(scores(new SymmetricalUncertAttributeEval(), options, table, top));
                }
            }
            parts.add("\"rank\": [\n" + String.join(",\n", rank) + "]");
        }
        if (weighted) {
            return "{\n" + String.join(",\n", parts) + "}";
        }
        List<String> subsets = new ArrayList<>();
        for (String[] options : modes) {
            for (String[] search : top == 0 ? SEARCHES : Arrays.copyOf(SEARCHES, 1)) {
                subsets.add(subset(search, options, table));
            }
        }
        parts.add("\"cfs\": [\n" + String.join(",\n", subsets) + "]");
        return "{\n" + String.join(",\n", parts) + "}";
    }

    /** Weka 3.6 counts weights in information gain, gain ratio and cut points; its symmetric uncertainty and CFS lose them. */
    static boolean weighted(Instances table) {
        for (int i = 0; i < table.numInstances(); i++) {
            if (table.instance(i).weight() != 1.0) {
                return true;
            }
        }
        return false;
    }

    static String allMerits(Instances table, String[] options) throws Exception {
        CfsSubsetEval evaluator = new CfsSubsetEval();
        evaluator.setOptions(options.clone());
        evaluator.buildEvaluator(table);
        int columns = table.numAttributes() - 1;
        List<String> merits = new ArrayList<>();
        for (int mask = 1; mask < 1 << columns; mask++) {
            BitSet subset = BitSet.valueOf(new long[] {mask});
            String key = subset.toString().replaceAll("[{} ]", "");
            merits.add(quote(key) + ": " + number(evaluator.evaluateSubset(subset)));
        }
        return "{" + String.join(", ", merits) + "}";
    }

    static String cutPoints(Instances table) throws Exception {
        Discretize filter = new Discretize();
        filter.setUseBetterEncoding(true);
        filter.setInputFormat(table);
        weka.filters.Filter.useFilter(table, filter);
        List<String> columns = new ArrayList<>();
        for (int j = 0; j < table.numAttributes() - 1; j++) {
            if (table.attribute(j).isNumeric()) {
                double[] cuts = filter.getCutPoints(j);
                columns.add(quote(table.attribute(j).name()) + ": " + Arrays.toString(cuts == null ? new double[0] : cuts));
            }
        }
        return "{" + String.join(", ", columns) + "}";
    }

    static String scores(ASEvaluation evaluator, String[] options, Instances table, int top) throws Exception {
        ((OptionHandler) evaluator).setOptions(options.clone());
        evaluator.buildEvaluator(table);
        double[] score = new double[table.numAttributes() - 1];
        double[] descending = new double[score.length];
        for (int j = 0; j < score.length; j++) {
            score[j] = ((AttributeEvaluator) evaluator).evaluateAttribute(j);
            descending[j] = -score[j];
        }
        int[] order = Utils.stableSort(descending);
        List<String> entries = new ArrayList<>();
        for (int i = 0; i < score.length; i++) {
            int j = top == 0 ? i : order[i];
            if (top == 0 || i < top) {
                entries.add(quote(table.attribute(j).name()) + ": " + number(score[j]));
            }
        }
        return "{\"evaluator\": " + quote(evaluator.getClass().getSimpleName()) + ", \"options\": " + quoteAll(options)
            + (top == 0 ? ", \"scores\": {" : ", \"top_scores\": {") + String.join(", ", entries) + "}}";
    }

    static String subset(String[] searchAndOptions, String[] options, Instances table) throws Exception {
        String[] searchOptions = Arrays.copyOfRange(searchAndOptions, 1, searchAndOptions.length);
        ASSearch search = search(searchAndOptions);
        CfsSubsetEval evaluator = new CfsSubsetEval();
        evaluator.setOptions(options.clone());
        evaluator.buildEvaluator(table);
        int[] chosen = search.search(evaluator, table);
        Arrays.sort(chosen);
        List<String> names = new ArrayList<>();
        for (int j : chosen) {
            names.add(quote(table.attribute(j).name()));
        }
        return "{\"search\": " + quote(searchAndOptions[0]) + ", \"search_options\": " + quoteAll(searchOptions)
            + ", \"evaluator_options\": " + quoteAll(options) + ", \"subset\": " + Arrays.toString(chosen)
            + ", \"subset_names\": " + names + ", \"merit\": " + number(merit(evaluator, chosen)) + "}";
    }

    static ASSearch search(String[] searchAndOptions) throws Exception {
        ASSearch search = searchAndOptions[0].equals("BestFirst") ? new BestFirst() : new GreedyStepwise();
        ((OptionHandler) search).setOptions(Arrays.copyOfRange(searchAndOptions, 1, searchAndOptions.length));
        return search;
    }

    static double merit(SubsetEvaluator evaluator, int[] chosen) throws Exception {
        BitSet subset = new BitSet();
        for (int j : chosen) {
            subset.set(j);
        }
        return evaluator.evaluateSubset(subset);
    }

    // ---------------------------------------------------------------- searches over given merits

    /** The merit of every subset out of a table, by mask. */
    static class Merits extends ASEvaluation implements SubsetEvaluator {
        final int[] merits;

        Merits(int[] merits) {
            this.merits = merits;
        }

        public void buildEvaluator(Instances table) {
        }

        public double evaluateSubset(BitSet subset) {
            return subset.isEmpty() ? 0.0 : merits[(int) subset.toLongArray()[0]];
        }
    }

    static void searches(int columns, String[] seeds) throws Exception {
        FastVector attributes = new FastVector();
        for (int j = 0; j <= columns; j++) {
            attributes.addElement(new Attribute("c" + j));
        }
        Instances table = new Instances("table", attributes, 1);
        table.add(new Instance(1.0, new double[columns + 1]));
        table.setClassIndex(columns);
        List<String> cases = new ArrayList<>();
        for (String seed : seeds) {
            String[] seedAndLevels = seed.split(":");
            Random random = new Random(Long.parseLong(seedAndLevels[0]));
            int levels = Integer.parseInt(seedAndLevels[1]);
            int[] merits = new int[1 << columns];
            for (int mask = 1; mask < merits.length; mask++) {
                merits[mask] = random.nextInt(levels);
            }
            List<String> chosen = new ArrayList<>();
            for (String[] search : SEARCHES) {
                int mask = 0;
                for (int j : search(search).search(new Merits(merits), table)) {
                    mask |= 1 << j;
                }
                chosen.add(quote(String.join(" ", search)) + ": " + mask);
            }
            cases.add("{\"merits\": " + Arrays.toString(merits) + ", \"chosen\": {" + String.join(", ", chosen) + "}}");
        }
        System.out.println("{\"weka_version\": " + quote(Version.VERSION) + ", \"n_columns\": " + columns + ", \"cases\": [\n"
            + String.join(",\n", cases) + "\n]}");
    }

    // ---------------------------------------------------------------- timings

    static void time(String what, String path, int rows, String levels, int repeats) throws Exception {
        Instances table = read(path, rows, levels);
        List<String> seconds = new ArrayList<>();
        String outcome = "";
        for (int repeat = 0; repeat < repeats; repeat++) {
            System.gc();
            long start = System.nanoTime();
            if (what.equals("infogain") || what.equals("relief")) {
                ASEvaluation evaluator = what.equals("relief") ? new ReliefFAttributeEval() : new InfoGainAttributeEval();
                evaluator.buildEvaluator(table);
                seconds.add(number((System.nanoTime() - start) / 1e9));
                List<String> scores = new ArrayList<>();
                for (int j = 0; j < table.numAttributes() - 1; j++) {
                    scores.add(number(((AttributeEvaluator) evaluator).evaluateAttribute(j)));
                }
                outcome = "\"scores\": " + scores;
            } else {
                CfsSubsetEval evaluator = new CfsSubsetEval();
                evaluator.buildEvaluator(table);
                int[] chosen = new BestFirst().search(evaluator, table);
                seconds.add(number((System.nanoTime() - start) / 1e9));
                Arrays.sort(chosen);
                outcome = "\"subset\": " + Arrays.toString(chosen) + ", \"merit\": " + number(merit(evaluator, chosen));
            }
        }
        System.out.println("{\"weka_version\": " + quote(Version.VERSION) + ", \"java\": " + quote(System.getProperty("java.version"))
            + ", \"seconds\": " + seconds + ", " + outcome + "}");
    }

    static Instances read(String path, int rows, String levels) throws Exception {
        String[] counts = levels.split(",");
        FastVector attributes = new FastVector();
        for (int j = 0; j < counts.length; j++) {
            int count = Integer.parseInt(counts[j]);
            FastVector values = new FastVector();
            for (int v = 0; v < count; v++) {
                values.addElement("v" + v);
            }
            attributes.addElement(count == 0 ? new Attribute("c" + j) : new Attribute("c" + j, values));
        }
        Instances table = new Instances("table", attributes, rows);
        try (DataInputStream stream = new DataInputStream(new BufferedInputStream(new FileInputStream(path), 1 << 20))) {
            for (int i = 0; i < rows; i++) {
                double[] row = new double[counts.length];
                for (int j = 0; j < counts.length; j++) {
                    row[j] = stream.readDouble();
                }
                table.add(new Instance(1.0, row));
            }
        }
        table.setClassIndex(counts.length - 1);
        return table;
    }

    // ---------------------------------------------------------------- JSON

    static String number(double value) {
        return Double.isNaN(value) ? "null" : Double.toString(value);
    }

    static String quote(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }

    static String quoteAll(String[] texts) {
        return Arrays.stream(texts).map(WekaPeer::quote).toList().toString();
    }
}
